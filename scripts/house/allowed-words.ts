/** A word that is literally meant. At most 19. */
export type AllowedWord = { path: string; text: string; because: string };

const SPEECH = "the agent repeats a message";

export const ALLOWED_WORDS: readonly AllowedWord[] = [
  { path: "examples/echo/agent.ts", text: "heard", because: SPEECH },
  { path: "examples/echo/agent.ts", text: "You said: ", because: SPEECH },
  { path: "examples/chat/src/local-model.ts", text: 'You said "', because: SPEECH },
  { path: "examples/chat/src/local-model.ts", text: "Ask me to", because: SPEECH },
  { path: "scripts/demo.ts", text: "You said: ", because: SPEECH },
  { path: "scripts/demo.ts", text: "heard", because: SPEECH },
  { path: "scripts/demo/agent.ts", text: "You said ", because: SPEECH },
  { path: "scripts/house/words.ts", text: "by then", because: "the check names the words" },
  { path: "test/fixtures/agents/graphs.ts", text: "ask", because: "a graph that asks a person" },
  { path: "test/fixtures/agents/graphs.ts", text: "says", because: SPEECH },
];
