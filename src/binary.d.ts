/** The units that `npm run build` has made, by `name@version`. */
declare module "*/prebuilt/units.js" {
  export const UNITS: Record<string, ArrayBuffer>;
}

/** A file that the bundler gives as its bytes. */
declare module "*.bin" {
  const bytes: ArrayBuffer;
  // biome-ignore lint/style/noDefaultExport: so the bundler gives it
  export default bytes;
}
