/** Shows the failure of a control beside it. */
export function InlineError({ error }: { error: Error | null }) {
  if (error === null) return null;
  return (
    <span className="err sm" role="alert">
      {error.message}
    </span>
  );
}
