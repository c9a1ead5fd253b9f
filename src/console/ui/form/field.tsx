import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from "react";

type Props = InputHTMLAttributes<HTMLInputElement> & {
  label: ReactNode;
  children?: ReactNode;
  /** The reason why the value is wrong. Replaces the hint. */
  problem?: string | undefined;
};

/** An input with its label, and its hint (`children`), which screen readers read as its description. */
export function Field({ label, children, problem, className = "", ...input }: Props) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className={`in ${className}`}
        aria-describedby={`${id}-hint`}
        aria-invalid={problem !== undefined || undefined}
        autoComplete="off"
        {...input}
      />
      <p className={problem === undefined ? "hint" : "bad break-words"} id={`${id}-hint`}>
        {problem ?? children}
      </p>
    </div>
  );
}

type AreaProps = TextareaHTMLAttributes<HTMLTextAreaElement> & { label: ReactNode };

/** A text of several lines with its label. */
export function TextAreaField({ label, className = "", ...area }: AreaProps) {
  const id = useId();
  return (
    <div className="field w-full">
      <label htmlFor={id}>{label}</label>
      <textarea id={id} className={`in ${className}`} {...area} />
    </div>
  );
}

type SelectProps = SelectHTMLAttributes<HTMLSelectElement> & { label: string; hint?: ReactNode };

/** A native select with its label. */
export function SelectField({ label, hint, children, ...select }: SelectProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} className="in" aria-describedby={`${id}-hint`} {...select}>
        {children}
      </select>
      <p className="hint" id={`${id}-hint`}>
        {hint}
      </p>
    </div>
  );
}

/** Marks a field that may stay empty. */
export function Optional({ children }: { children: ReactNode }) {
  return (
    <>
      {children} <span className="dim font-normal">optional</span>
    </>
  );
}
