declare module "heddle:graphs" {
  export const graphs: Record<string, import("./graphs.ts").ExportedGraph>;
  export const store: import("./embedding.ts").StoreSettings;
}
