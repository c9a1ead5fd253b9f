declare module "heddle:graphs" {
  export const graphs: Record<string, import("./graphs.ts").ExportedGraph>;
  export const types: Record<string, Record<string, unknown>>;
  export const auth: import("./agent-module.ts").AgentModule | null;
  export const app: import("./agent-module.ts").AgentModule | null;
  export const store: import("../agent/embedding.ts").EmbeddingSettings;
}
