type Fields = Record<string, unknown>;

/** Fields of trace runs that the environment of a deployment hides. */
export type HiddenFields = { inputs: boolean; outputs: boolean; metadata: boolean };

/** Reads the variables by which LangSmith's SDKs hide fields, in their newer and their older spelling. */
export function hiddenFieldsOf(variables: Record<string, string | undefined>): HiddenFields {
  const isHidden = (name: string) => {
    const value = variables[`LANGSMITH_HIDE_${name}`] || variables[`LANGCHAIN_HIDE_${name}`];
    return value?.trim().toLowerCase() === "true";
  };
  return {
    inputs: isHidden("INPUTS"),
    outputs: isHidden("OUTPUTS"),
    metadata: isHidden("METADATA"),
  };
}

/** Empties the hidden fields of a trace run or of its changes, as LangSmith's SDKs do. */
export function withoutHidden(run: Fields, hidden: HiddenFields): Fields {
  const { inputs, outputs, extra } = run;
  return {
    ...run,
    ...(hidden.inputs && inputs !== undefined && { inputs: {} }),
    ...(hidden.outputs && outputs !== undefined && { outputs: {} }),
    ...(hidden.metadata && extra !== undefined && { extra: { ...Object(extra), metadata: {} } }),
  };
}
