// `npm run advisories`: fails on advisories for what is deployed, not on a registry that has no list of them.
import { spawnSync } from "node:child_process";
import { readOptions } from "./options.ts";

readOptions({});
const { status, stdout, stderr } = spawnSync("npm", ["audit", "--omit=dev", "--audit-level=high"], {
  encoding: "utf8",
});
console.log(stdout + stderr);
const hasList = !`${stdout}${stderr}`.includes("audit endpoint returned an error");
process.exitCode = hasList ? (status ?? 1) : 0;
