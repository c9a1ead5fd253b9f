// The package's types are for its main entry, which starts a process. This entry is plain JavaScript.
declare module "recheck/lib/browser.js" {
  export { checkSync } from "recheck";
}
