import { useState } from "react";
import type { useThreadActions } from "../../runs/use-thread-actions.ts";
import { StateDiff } from "../../ui/conversation/state-diff.tsx";
import { Icon } from "../../ui/icon.tsx";
import { JsonView } from "../../ui/json-view/json-view.tsx";
import { ErrorState, QueryState, Skeleton } from "../../ui/states.tsx";
import { EditState } from "./edit-state.tsx";
import type { CheckpointView } from "./use-checkpoints.ts";

type Props = {
  view: CheckpointView;
  /** `null` for viewers. */
  actions: ReturnType<typeof useThreadActions> | null;
};

/** Shows the state at a checkpoint, and its changes since the parent of that checkpoint. */
export function StateTab({ view, actions }: Props) {
  const [isOpen, setOpen] = useState(false);
  const { history, state, former, index, marks, chosen } = view;
  if (marks.length === 0) {
    return (
      <QueryState query={history} what="The checkpoints could not be read" rows={4}>
        {() => <p className="in-p dim">No checkpoint yet.</p>}
      </QueryState>
    );
  }
  if (state === undefined) {
    if (view.error === null) return <Skeleton rows={4} />;
    return <ErrorState what="The state could not be read" error={view.error} />;
  }
  return (
    <div className="in-p grid gap-3">
      <section aria-label="Changes">
        <div className="row">
          <h3>Changed by checkpoint {index + 1}</h3>
          {actions !== null && (
            <button
              type="button"
              className="btn sm ghost push"
              disabled={view.isStale}
              onClick={() => setOpen(true)}
            >
              <Icon name="pencil" small /> Edit state
            </button>
          )}
        </div>
        <StateDiff before={former?.values} after={state.values} />
      </section>
      <section aria-label="Values" className="min-w-0">
        <JsonView label="Values" value={state.values} />
      </section>
      {isOpen && actions !== null && (
        <EditState
          values={state.values}
          checkpoint_id={chosen?.id}
          nodes={[...new Set(marks.flatMap(({ next }) => next))].sort()}
          onEdit={(update) => actions.edit.mutateAsync(update)}
          onClose={() => setOpen(false)}
        />
      )}
    </div>
  );
}
