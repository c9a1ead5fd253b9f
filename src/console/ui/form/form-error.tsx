import { useEffect, useRef } from "react";
import { problemsOf } from "../../api/errors.ts";
import { ErrorState } from "../states.tsx";

type Props = {
  /** The failure, such as "The key was not created". */
  what: string;
  error: Error | null;
  /** Fields that show their own problem. */
  fields: string[];
};

/** A refused form. Problems of fields are shown there, and the first one has the focus; others are shown here. */
export function FormError({ what, error, fields }: Props) {
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (error === null) return;
    const form = ref.current?.closest("form");
    form?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [error]);
  const names = Object.keys(problemsOf(error));
  const isAtFields = names.length > 0 && names.every((name) => fields.includes(name));
  return <div ref={ref}>{error && !isAtFields && <ErrorState what={what} error={error} />}</div>;
}
