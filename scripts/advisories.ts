// `npm run advisories`: fails on advisories for what is deployed, not on a registry that has no list of them.
import { spawnSync } from "node:child_process";
import { readOptions } from "./options.ts";

readOptions({});
// `npm run --silent` would silence the error of the registry too.
const options = ["--omit=dev", "--audit-level=high", "--loglevel=error"];
const { status, stdout, stderr } = spawnSync("npm", ["audit", ...options], { encoding: "utf8" });
console.log(stdout + stderr);
const hasList = !`${stdout}${stderr}`.includes("audit endpoint returned an error");
process.exitCode = hasList ? (status ?? 1) : 0;
