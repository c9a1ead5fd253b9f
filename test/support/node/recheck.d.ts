// The package's types are for its main entry, which starts a process of its own; this one is plain JavaScript.
declare module "recheck/lib/browser.js" {
  export { checkSync } from "recheck";
}
