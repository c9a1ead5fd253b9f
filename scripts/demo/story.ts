// Prints the demo: numbered steps with their results and durations.
import { formatDuration, paint } from "../../local/processes/terminal.ts";

export type Note = {
  (label: string, value: string): void;
  /** Prints a token of a stream; the next note starts a new line. */
  token(text: string): void;
  /** Prints a part of the step that is done, and its duration. */
  step(label: string, ms: number): void;
};

const WIDTH = 66;
const LABEL_WIDTH = 14;
const INDENT = "     ";

let steps = 0;
let column = 0;

export async function step<T>(title: string, act: (note: Note) => Promise<T>): Promise<T> {
  steps += 1;
  const number = String(steps).padStart(2);
  console.log(`\n${paint("cyan", number)}   ${paint("bold", title)}`);
  const started = performance.now();
  const result = await act(createNote());
  endLine();
  const time = formatDuration(performance.now() - started).padStart(8);
  console.log(`${INDENT}${paint("green", "✓ right".padEnd(WIDTH))}${paint("dim", time)}`);
  return result;
}

export function stepCount(): number {
  return steps;
}

/** Fails the demo with the expectation as its message. */
export function expect(isRight: boolean, sentence: string): asserts isRight {
  if (!isRight) throw new Error(sentence);
}

export function endLine(): void {
  if (column > 0) process.stdout.write("\n");
  column = 0;
}

function createNote(): Note {
  const note = (label: string, value: string) => {
    endLine();
    const [first = "", ...rest] = value.split("\n");
    console.log(`${INDENT}${paint("dim", label.padEnd(LABEL_WIDTH))}${first}`);
    for (const line of rest) console.log(INDENT + " ".repeat(LABEL_WIDTH) + line);
  };
  const step = (label: string, ms: number) => {
    const time = formatDuration(ms).padStart(8);
    console.log(INDENT + paint("dim", label.padEnd(WIDTH) + time));
  };
  return Object.assign(note, { token: writeToken, step });
}

/** Starts a new line before a token that would exceed the width. A token is not broken. */
function writeToken(text: string): void {
  const margin = INDENT + " ".repeat(LABEL_WIDTH);
  if (column > 0 && column + text.length > WIDTH + INDENT.length) endLine();
  if (column === 0) {
    process.stdout.write(margin);
    column = margin.length;
  }
  process.stdout.write(paint("italic", text));
  column += text.length;
}
