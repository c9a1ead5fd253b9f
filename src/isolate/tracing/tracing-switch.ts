/** Variables of the SDKs that disable tracing. */
const SWITCHES = [
  "LANGSMITH_TRACING",
  "LANGSMITH_TRACING_V2",
  "LANGCHAIN_TRACING_V2",
  "LANGCHAIN_TRACING",
];

export function isTracingOff(env: Record<string, string | undefined>): boolean {
  const values = SWITCHES.map((name) => env[name]?.toLowerCase());
  return values.includes("false") && !values.includes("true");
}
