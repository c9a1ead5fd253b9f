import { useId } from "react";

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

/** A text area for JSON with its label and what is wrong with it. */
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
