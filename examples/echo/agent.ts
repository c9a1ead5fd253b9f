// The smallest agent: one async generator. What it yields is merged into the thread's state and
// streamed; what it emits is a custom event of the stream and is not kept.

type Message = { role: string; content: string };
type Input = { messages?: Message[] };
type Conversation = { messages: unknown[]; signal: AbortSignal; emit: (data: unknown) => void };

export async function* agent(input: Input, { messages, signal, emit }: Conversation) {
  const words = (input.messages?.at(-1)?.content ?? "").split(/\s+/).filter(Boolean);
  for (const word of words) {
    signal.throwIfAborted();
    emit({ heard: word });
  }
  yield { words: words.length, turns: messages.length };
  yield { messages: [{ role: "assistant", content: `You said: ${words.join(" ")}` }] };
}
