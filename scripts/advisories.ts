// `npm run advisories`: fails on advisories of level high or critical for what is deployed. Passes when the registry
// gives no list of advisories.
import { spawnSync } from "node:child_process";
import { readOptions } from "./options.ts";

readOptions({});
// `npm run --silent` would silence the error of the registry too.
const options = ["--omit=dev", "--audit-level=high", "--loglevel=error"];
const { status, stdout, stderr } = spawnSync("npm", ["audit", ...options], { encoding: "utf8" });
console.log(stdout + stderr);
const hasList = !`${stdout}${stderr}`.includes("audit endpoint returned an error");
process.exitCode = hasList ? (status ?? 1) : 0;
