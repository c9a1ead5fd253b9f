type Fields = Record<string, unknown>;

/** Key of interrupts in outputs, as in the results of LangGraph. */
export const INTERRUPT = "__interrupt__";

/** An error that LangGraph throws for control flow. */
type BubbleUp = { is_bubble_up?: unknown; interrupts?: unknown; command?: unknown };

/** `traceable` reports errors as text: the name, and the JSON of an interrupt. */
const THROWN = /^(?:GraphInterrupt|NodeInterrupt|ParentCommand|GraphDrained)(?:: ([\s\S]*))?$/;

/** Returns the outputs of a run that ended by LangGraph's control flow. @returns `null` for an error */
export function outputsOfThrown(error: unknown): Fields | null {
  const { is_bubble_up, interrupts, command } = Object(error) as BubbleUp;
  if (is_bubble_up !== true) return null;
  if (interrupts !== undefined) return { [INTERRUPT]: interrupts };
  return command === undefined ? {} : { output: command };
}

export function interruptsIn(outputs: Fields): unknown[] {
  const interrupts = outputs[INTERRUPT];
  return Array.isArray(interrupts) ? interrupts : [];
}

/** Removes the error of a run of `traceable` that control flow has ended, and adds its interrupts to the outputs. */
export function withoutControlFlow(run: Fields): Fields {
  const thrown = typeof run.error === "string" ? THROWN.exec(run.error) : null;
  if (thrown === null) return run;
  return {
    ...run,
    error: undefined,
    outputs: { ...parseInterrupts(thrown[1]), ...Object(run.outputs) },
  };
}

function parseInterrupts(text: string | undefined): Fields {
  try {
    return { [INTERRUPT]: JSON.parse(text ?? "") };
  } catch {
    return {};
  }
}
