type Fields = Record<string, unknown>;
type Config = { configurable?: Fields } & Fields;

/** Converts the payload of a checkpoint as `toCheckpointPayload` does. Other debug events are returned unchanged. */
export function toDebugEvent(chunk: unknown): unknown {
  const event = chunk as { type: string; payload: unknown };
  if (event.type !== "checkpoint") return event;
  return { ...event, payload: toCheckpointPayload(event.payload) };
}

/** Renames `parentConfig`, adds `checkpoint` and `parent_checkpoint`, and omits internal keys of the configurable. */
export function toCheckpointPayload(payload: unknown): unknown {
  const { config, parentConfig, tasks, ...rest } = payload as Fields & {
    config?: Config;
    parentConfig?: Config;
    tasks?: (Fields & { state?: Config })[];
  };
  return {
    ...rest,
    config: visibleConfig(config),
    parent_config: visibleConfig(parentConfig),
    checkpoint: checkpointOf(config),
    parent_checkpoint: checkpointOf(parentConfig),
    ...(tasks && { tasks: tasks.map(toTask) }),
  };
}

function toTask({ state, ...task }: Fields & { state?: Config }) {
  return state?.configurable ? { ...task, checkpoint: state.configurable } : task;
}

function visibleConfig(config: Config | undefined): Config | null {
  if (!config) return null;
  const { callbacks: _callbacks, configurable, ...rest } = config;
  // Hides the user from readers of the stream.
  const { langgraph_auth_user: _u, langgraph_auth_permissions: _p, ...shown } = configurable ?? {};
  const visible = Object.entries(shown).filter(([key]) => !key.startsWith("__"));
  return { ...rest, configurable: Object.fromEntries(visible) };
}

function checkpointOf(config: Config | undefined) {
  const { thread_id, checkpoint_id, checkpoint_ns, checkpoint_map } = config?.configurable ?? {};
  if (!checkpoint_id) return null;
  return {
    thread_id,
    checkpoint_id,
    checkpoint_ns: checkpoint_ns ?? "",
    checkpoint_map: checkpoint_map ?? null,
  };
}
