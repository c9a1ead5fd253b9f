import type { ReactNode } from "react";

type Props = { number: number; title: string; end?: ReactNode; children: ReactNode };

/** A numbered part of a long form. */
export function FormSection({ number, title, end, children }: Props) {
  return (
    <fieldset className="panel form-section">
      <legend className="sr">{title}</legend>
      <div className="row wrap head">
        <b className="count" aria-hidden="true">
          {number}
        </b>
        <h2>{title}</h2>
        {end !== undefined && <span className="push min-w-0">{end}</span>}
      </div>
      <div className="body">{children}</div>
    </fieldset>
  );
}
