/** How the SDKs' own variables say that nothing is to be traced. */
const SWITCHES = [
  "LANGSMITH_TRACING",
  "LANGSMITH_TRACING_V2",
  "LANGCHAIN_TRACING_V2",
  "LANGCHAIN_TRACING",
];

export function isTracingOff(env: Record<string, string | undefined>): boolean {
  const said = SWITCHES.map((name) => env[name]?.toLowerCase());
  return said.includes("false") && !said.includes("true");
}
