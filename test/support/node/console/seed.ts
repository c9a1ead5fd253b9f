import type { Access } from "./access.ts";
import { type SeededAgent, seedAgent } from "./seed-agents.ts";
import { type SeededTraces, seedTraces } from "./seed-traces.ts";
import { type SeededWorkspace, seedWorkspace } from "./seed-workspace.ts";
import type { Words } from "./words.ts";

export type World = SeededAgent & SeededTraces & SeededWorkspace;

/** Fills a workspace with something for each page of the console. */
export async function seedWorld(access: Access, words: Words): Promise<World> {
  const [agent, traced] = await Promise.all([
    seedAgent(access, words),
    seedTraces(access, words).then(async (traces) => ({
      ...traces,
      ...(await seedWorkspace(access, words, traces.project)),
    })),
  ]);
  return { ...agent, ...traced };
}
