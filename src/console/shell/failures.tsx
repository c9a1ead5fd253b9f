import { type ErrorComponentProps, Link } from "@tanstack/react-router";
import { Empty } from "../ui/panel.tsx";
import { ErrorState } from "../ui/states.tsx";

export function RouteFailure({ error, reset }: ErrorComponentProps) {
  return (
    <div className="main">
      <ErrorState
        what="This page failed"
        error={error instanceof Error ? error : new Error(String(error))}
        retry={reset}
      />
    </div>
  );
}

export function RouteNotFound() {
  return (
    <Empty title="No such page" action={<Link to="/">Open the overview</Link>}>
      The address names no page of the console.
    </Empty>
  );
}
