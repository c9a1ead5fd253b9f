declare module "heddle:graphs" {
  export const graphs: Record<string, import("./graphs.ts").ExportedGraph>;
  export const types: Record<string, Record<string, unknown>>;
  export const auth: import("./auth.ts").NamedExport | null;
  export const app: import("./auth.ts").NamedExport | null;
  export const store: import("./embedding.ts").StoreSettings;
}
