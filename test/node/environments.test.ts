// Wrangler's own reading of its files, so that what is inherited and what is not is its decision.
import { describe, expect, test } from "vitest";
import { unstable_readConfig as readConfig } from "wrangler";
import { SETTABLE } from "../../local/variables.ts";
import { ENVIRONMENTS, type Environment, FILES, REGIONS } from "../../scripts/regions.ts";

type Config = {
  name: string;
  vars: Record<string, string>;
  compatibility_flags: string[];
  triggers: { crons: string[] };
  migrations: { new_sqlite_classes?: string[] }[];
  durable_objects: { bindings: { name: string; class_name: string }[] };
  queues: {
    producers: { queue: string }[];
    consumers: { queue: string; dead_letter_queue?: string }[];
  };
  r2_buckets: { bucket_name: string }[];
  services: { service: string }[];
  tail_consumers?: { service: string }[];
};

/** Fields whose values differ between regions. */
const NAMES = new Set(["queue", "dead_letter_queue", "bucket_name", "database_name", "service"]);
const OWN_FIELDS = [
  ...["name", "targetEnvironment", "vars", "routes", "workers_dev", "observability"],
  // A local stack keeps the log in a file.
  "tail_consumers",
  "compatibility_flags",
];

function read(config: string, env?: Environment): Config {
  return readConfig({ config, ...(env ? { env } : {}) }) as Config;
}

/** Databases of environments have no id: wrangler finds them by their name. The local stack needs one. */
const RENAMED: Record<string, string> = { database_id: "preview_database_id" };

/** The jurisdiction of an environment. */
const jurisdictionOf = (env: Environment | undefined) => REGIONS.find((region) => region === env);

/** The top level as an environment should have it. */
function regional(value: unknown, region: Environment): unknown {
  if (Array.isArray(value)) return value.map((item) => regional(item, region));
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).map(([key, field]) => {
    if (NAMES.has(key)) return [key, `${field}-${region}`];
    const renamed = RENAMED[key];
    return renamed === undefined ? [key, regional(field, region)] : [renamed, expect.any(String)];
  });
  const jurisdiction = jurisdictionOf(region);
  const pinned = "bucket_name" in value && jurisdiction !== undefined ? { jurisdiction } : {};
  return { ...Object.fromEntries(fields), ...pinned };
}

function without(config: Config): Record<string, unknown> {
  const kept = Object.entries(config).filter(([key]) => !OWN_FIELDS.includes(key));
  return Object.fromEntries(kept);
}

/** Every name that a configuration has for something outside of itself. */
function namesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, field]) =>
    NAMES.has(key) || key === "database_id" ? [String(field)] : namesIn(field),
  );
}

describe.each(FILES)("%s", (file) => {
  const top = read(file);

  test.each(ENVIRONMENTS)("%s has every setting of the top level, with its own names", (region) => {
    const config = read(file, region);
    expect(config.name).toBe(`${top.name}-${region}`);
    expect(without(config)).toEqual(regional(without(top), region));
    expect(Object.keys(config.vars)).toEqual(Object.keys(top.vars));
  });

  test.each(ENVIRONMENTS)(
    "fetch() of %s reaches a zone by its public front door alone",
    (region) => {
      expect(read(file, region).compatibility_flags).toEqual(["global_fetch_strictly_public"]);
    },
  );

  test("no environment shares anything with another", () => {
    const all = [undefined, ...ENVIRONMENTS].map(
      (env) => new Set(namesIn(without(read(file, env)))),
    );
    const names = all.flatMap((set) => [...set]);
    expect(names).toEqual([...new Set(names)]);
  });
});

describe.each([undefined, ...ENVIRONMENTS])("environment %s", (env) => {
  const [main, builder, tail] = FILES.map((file) => read(file, env)) as [Config, Config, Config];

  test("the Worker is bound to the builder and the tail of its environment, and all to one bucket", () => {
    expect(main.services.map(({ service }) => service)).toEqual([builder.name]);
    expect(builder.r2_buckets).toEqual(main.r2_buckets);
    expect(tail.r2_buckets).toEqual(main.r2_buckets);
    expect(main.tail_consumers).toEqual(env && [{ service: tail.name }]);
  });

  test("what is sent is consumed, and what cannot be is kept", () => {
    const { producers, consumers } = main.queues;
    expect(consumers.map(({ queue }) => queue)).toEqual(producers.map(({ queue }) => queue));
    for (const { queue, dead_letter_queue } of consumers) {
      const dead = queue.replace(/^(heddle-[a-z]+)/, "$1-dead");
      expect(dead_letter_queue).toBe(dead);
    }
  });

  test("its objects are pinned to its region, by migrations that make their classes", () => {
    expect(main.vars.DATA_JURISDICTION).toBe(jurisdictionOf(env) ?? "");
    const made = main.migrations.flatMap(({ new_sqlite_classes = [] }) => new_sqlite_classes);
    expect(made).toEqual(main.durable_objects.bindings.map(({ class_name }) => class_name));
    expect(main.triggers.crons).toEqual(["* * * * *"]);
  });
});

test("every variable but the jurisdiction and the ports can be set on a local stack", () => {
  const { DATA_JURISDICTION: _, LOCAL_PORTS: __, ...others } = read("wrangler.toml").vars;
  expect(Object.keys(others)).toEqual([...SETTABLE]);
});
