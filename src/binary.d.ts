/** Prebuilt packages that `npm run build` has bundled, compressed, by `name@version`. */
declare module "*/prebuilt/units.js" {
  export const UNITS: Record<string, ArrayBuffer>;
}

/** A file that the bundler imports as its bytes. */
declare module "*.bin" {
  const bytes: ArrayBuffer;
  // biome-ignore lint/style/noDefaultExport: the bundler exports it so
  export default bytes;
}
