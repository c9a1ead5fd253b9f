import { lt, valid } from "semver";
import type { BuildLog } from "../build-log.ts";
import { BuildFailure } from "../failure.ts";
import type { Dependencies } from "../packages/dependencies.ts";
import { HARNESS } from "../packages/embedded.ts";
import type { NpmProject } from "../packages/project.ts";

/** First version whose checkpoints are in a separate package. */
const OLDEST = "0.2.0";
/** First version that streams messages and custom events. */
const FIRST_WITH_MESSAGES = "0.2.20";
const FIRST_WITH_ZOD_SCHEMA = "0.2.68";

/** First versions of features, as docs/reference/agents.md lists them. */
const FEATURES = [
  ["0.2.9", "events and states of subgraphs"],
  ["0.2.10", "the store in nodes"],
  [FIRST_WITH_MESSAGES, "custom events"],
  ["0.2.31", "interrupt() and Command"],
] as const;

type LangGraphProject = { project: NpmProject; dependencies: Dependencies };

/** Refuses versions before 0.2.0, which cannot run. Warns of the features that versions before 0.2.20 lack. */
export function checkLangGraph(log: BuildLog, { project, dependencies }: LangGraphProject) {
  const version = versionOf(dependencies);
  if (version === null || !lt(version, FIRST_WITH_MESSAGES)) return;
  const files = project.lock === null ? "package.json" : `package.json and ${project.lock.file}`;
  if (lt(version, OLDEST)) {
    const text = `LangGraph ${version} is not supported: its checkpoints have another format.`;
    const remedy = `Update @langchain/langgraph to ${OLDEST} or newer in ${files}.`;
    throw new BuildFailure("bundle_failed", `${text} ${remedy}`);
  }
  const lacking = FEATURES.filter(([first]) => lt(version, first));
  const names = lacking.map(([first, name]) => `${name} (${first})`).join(", ");
  log.warn(
    `LangGraph ${version} runs without features of later versions: ${names}. ` +
      `Update @langchain/langgraph in ${files} to use them.`,
  );
}

/** Returns the harness: Heddle's code in the artifact, which runs the agent's code. */
export function harnessOf(dependencies: Dependencies): string {
  const version = versionOf(dependencies);
  if (dependencies.langgraph === null) return HARNESS.plain_agent;
  const isEarly = version !== null && lt(version, FIRST_WITH_MESSAGES);
  return isEarly ? HARNESS.early_langgraph_agent : HARNESS.langgraph_agent;
}

export function lacksZodSchema(dependencies: Dependencies): boolean {
  const version = versionOf(dependencies);
  return version !== null && lt(version, FIRST_WITH_ZOD_SCHEMA);
}

/** @returns `null` without LangGraph, when it is linked, or when the lockfile has an address in place of its version */
function versionOf({ install, langgraph }: Dependencies): string | null {
  return valid(install.packages.get(langgraph ?? "")?.version);
}
