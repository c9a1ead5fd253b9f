/** The last version of each supported minor line of LangGraph, with versions of core and checkpoint. */
export const LANGGRAPH_LINES = [
  ["1.1.5", "1.1.49", "1.0.4"],
  ["1.2.9", "1.1.49", "1.1.5"],
  ["1.3.7", "1.2.13", "1.1.5"],
  ["1.4.18", "1.3.5", "1.1.5"],
  ["1.5.3", "1.4.0", "1.2.2"],
  ["1.7.3", "1.3.5", "1.2.2"],
] as const;
