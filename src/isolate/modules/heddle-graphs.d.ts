declare module "heddle:graphs" {
  export const graphs: Record<string, import("./graphs.ts").ExportedGraph>;
  export const types: Record<string, Record<string, unknown>>;
  export const auth: import("../agent/auth.ts").AuthExport | null;
  export const app: import("../agent/auth.ts").AuthExport | null;
  export const store: import("../agent/embedding.ts").EmbeddingSettings;
}
