import { isRecord } from "../../../shared/guards.ts";
import type { UiConfig } from "../contract.ts";
import { BuildFailure } from "../failure.ts";
import { joinPath } from "../paths.ts";
import { type ConfigLocation, findScript, SCRIPT, wrong } from "./config-values.ts";

/** Reads `ui` and `ui_config` of langgraph.json: the components of each agent and the modules of the host's page. */
export function readUi(place: ConfigLocation, ui: unknown, ui_config: unknown): UiConfig {
  const { path } = place;
  const entries = ui ?? {};
  if (!isRecord(entries)) throw wrong(path, '"ui"', 'an object like {"agent": "./ui.tsx"}', ui);
  const config = ui_config ?? {};
  if (!isRecord(config)) throw wrong(path, '"ui_config"', "an object", ui_config);
  const shared = config.shared ?? [];
  if (!Array.isArray(shared) || !shared.every((name) => typeof name === "string")) {
    throw wrong(path, '"ui_config.shared"', 'a list of packages like ["zustand"]', config.shared);
  }
  const files = Object.entries(entries).map(([agent, file]) => [
    agent,
    readEntry(place, agent, file),
  ]);
  return { entries: Object.fromEntries(files), shared };
}

function readEntry({ tree, path, folder }: ConfigLocation, agent: string, file: unknown): string {
  if (typeof file !== "string" || !SCRIPT.test(file)) {
    throw wrong(path, `"ui.${agent}"`, "a file that exports components, like ./src/ui.tsx", file);
  }
  const source = joinPath(folder, file);
  const found = findScript(tree, source);
  if (found !== undefined) return found;
  const text = `${path}: "ui.${agent}" is ${source}, which does not exist.`;
  throw new BuildFailure("config_invalid", text);
}
