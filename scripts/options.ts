import { readFileSync } from "node:fs";
import { type ParseArgsConfig, parseArgs } from "node:util";

type Options = NonNullable<ParseArgsConfig["options"]>;

/**
 * Reads the options of the running script. `--help` prints the comment that the script begins with, and its
 * options. An unknown option ends the script with the same text.
 */
export function readOptions<const T extends Options>(options: T, allowPositionals = false) {
  const args = process.argv.slice(2);
  if (args.includes("--help") || args.includes("-h")) {
    console.log(usageOf(options));
    process.exit(0);
  }
  try {
    return parseArgs({ options, allowPositionals });
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usageOf(options)}`);
    process.exit(1);
  }
}

function usageOf(options: Options): string {
  const source = readFileSync(process.argv[1] ?? "", "utf8").split("\n");
  const end = source.findIndex((line) => !line.startsWith("//"));
  const comment = source.slice(0, end).map((line) => line.replace(/^\/\/ ?/, ""));
  const lines = Object.entries(options).map(([name, { type, default: standard }]) => {
    const value = type === "string" ? " <value>" : "";
    return (
      `  --${name}${value}`.padEnd(24) + (standard === undefined ? "" : `default: ${standard}`)
    );
  });
  return [...comment, ...(lines.length > 0 ? ["", "Options", ...lines] : [])].join("\n");
}
