// A plugin of Miniflare: binds workerd's debug port, for which it has no option.
import { kVoid } from "miniflare";

type WorkerOptions = { config: { env?: Record<string, { type: string }> } };

const TYPE = "debug-port";

const plugin = {
  bindingTypeDescription: "workerd debug port",
  getBindings({ config }: WorkerOptions) {
    const names = Object.entries(config.env ?? {}).filter(
      ([, { type }]) => type === `unsafe:${TYPE}`,
    );
    return names.map(([name]) => ({ name, workerdDebugPort: kVoid }));
  },
  getNodeBindings: () => ({}),
  getServices: () => [],
};

export const plugins = { [TYPE]: plugin };

/** For the `unsafeBindings` of a worker's options. */
export function debugPortBinding(name: string) {
  return { name, type: TYPE, plugin: { package: import.meta.filename, name: TYPE }, options: {} };
}
