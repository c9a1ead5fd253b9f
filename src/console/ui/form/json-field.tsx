import { useId, useState } from "react";
import type { ParsedText } from "../conversation/fields.ts";

type Props = {
  label: string;
  text: string;
  /** The field grows with its lines up to this number. */
  maxLines: number;
  placeholder?: string | undefined;
  /** The reason why the text is refused. */
  problem: string | null;
  className?: string;
  onEdit: (text: string) => void;
};

/** Holds the text of a `JsonField`. `read` returns the parsed value, or shows the problem and returns `null`. */
export function useJsonText<T>(initial: string, parse: (text: string) => ParsedText<T>) {
  const [text, setText] = useState(initial);
  const [problem, setProblem] = useState<string | null>(null);
  const onEdit = (next: string) => {
    setText(next);
    setProblem(null);
  };
  const read = (): { value: T } | null => {
    const parsed = parse(text);
    if (!("problem" in parsed)) return parsed;
    setProblem(parsed.problem);
    return null;
  };
  return { field: { text, problem, onEdit }, read };
}

/** A text area for JSON with its label and its problem. */
export function JsonField({ label, text, maxLines, placeholder, problem, ...rest }: Props) {
  const id = useId();
  const { className = "field", onEdit } = rest;
  return (
    <div className={className}>
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        className="in mono"
        rows={Math.min(maxLines, text.split("\n").length + 1)}
        placeholder={placeholder}
        aria-invalid={problem !== null}
        value={text}
        onChange={(event) => onEdit(event.target.value)}
      />
      {problem !== null && (
        <span className="bad" role="alert">
          {problem}
        </span>
      )}
    </div>
  );
}
