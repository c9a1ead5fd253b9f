import { type InputHTMLAttributes, type ReactNode, useId } from "react";

type Props = InputHTMLAttributes<HTMLInputElement> & { label: string; children?: ReactNode };

/** An input with its label, and a hint that describes it to screen readers. */
export function Field({ label, children, ...input }: Props) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input id={id} className="in" aria-describedby={`${id}-hint`} autoComplete="off" {...input} />
      {children && (
        <p className="hint" id={`${id}-hint`}>
          {children}
        </p>
      )}
    </div>
  );
}
