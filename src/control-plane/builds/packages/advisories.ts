import { satisfies } from "semver";
import type { BuildLog } from "../build-log.ts";
import type { Install } from "../locks/install-tree.ts";

type Advisory = {
  name: string;
  /** A range of semver; `-0` includes the first prerelease. */
  affected: string;
  fixed: string;
  reference: string;
};

/** When client data is deserialized, objects with `lc: 1` in it are constructed, or resolve secrets. */
const SERIALIZATION_INJECTION = "GHSA-r399-636x-v7f6 (CVE-2025-68665)";

/** Known vulnerabilities in the deserialization of packages that agents use. */
const ADVISORIES: Advisory[] = [
  {
    name: "@langchain/core",
    affected: "<0.3.80",
    fixed: "0.3.80",
    reference: SERIALIZATION_INJECTION,
  },
  {
    name: "@langchain/core",
    affected: ">=1.0.0-0 <1.1.8",
    fixed: "1.1.8",
    reference: SERIALIZATION_INJECTION,
  },
  { name: "langchain", affected: "<0.3.37", fixed: "0.3.37", reference: SERIALIZATION_INJECTION },
  {
    name: "langchain",
    affected: ">=1.0.0-0 <1.2.3",
    fixed: "1.2.3",
    reference: SERIALIZATION_INJECTION,
  },
  // `JsonPlusSerializer` calls a static method that the data names. Published without an advisory id.
  {
    name: "@langchain/langgraph-checkpoint",
    affected: "<1.1.5",
    fixed: "1.1.5",
    reference: "langchain-ai/langgraphjs#2709",
  },
];

/** Logs a warning for each version of `paths` that has a known deserialization vulnerability. */
export function warnOfAdvisories(log: BuildLog, install: Install, paths: Iterable<string>): void {
  const warnings = [...paths].flatMap((path) => {
    const found = install.packages.get(path);
    return found
      ? ADVISORIES.filter((one) => isAffected(one, found)).map(textOf(found.version))
      : [];
  });
  for (const warning of new Set(warnings)) log.warn(warning);
}

function isAffected({ name, affected }: Advisory, found: { name: string; version: string }) {
  return found.name === name && satisfies(found.version, affected, { includePrerelease: true });
}

function textOf(version: string) {
  return ({ name, reference, fixed }: Advisory) =>
    `${name} ${version} has a known deserialization vulnerability, ${reference}. ` +
    `Update it to ${fixed} or newer.`;
}
