import { getRouteApi } from "@tanstack/react-router";
import type { FormEvent } from "react";
import { Field } from "../../../ui/form/field.tsx";

const route = getRouteApi("/w/$workspace/settings/$section");

/** Edits the filter of the audit log, which is kept in the address. */
export function AuditFilter() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { action, actor, resource, since } = search;
  const apply = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? "").trim() || undefined;
    void navigate({
      search: {
        action: text("action"),
        actor: text("actor"),
        resource: text("resource"),
        since: text("since"),
      },
    });
  };
  return (
    <form
      key={JSON.stringify(search)}
      className="grid gap-3 mb-4 md:grid-cols-5 items-end"
      aria-label="Filter"
      onSubmit={apply}
    >
      <Field label="Action" name="action" placeholder="createDeployment" defaultValue={action} />
      <Field label="Key or user id" name="actor" className="mono" defaultValue={actor} />
      <Field label="Resource id" name="resource" className="mono" defaultValue={resource} />
      <Field label="Since, UTC" name="since" type="date" defaultValue={since} />
      <div className="row">
        <button type="submit" className="btn">
          Filter
        </button>
        {(action ?? actor ?? resource ?? since) !== undefined && (
          <button type="button" className="btn ghost" onClick={() => void navigate({ search: {} })}>
            Show all
          </button>
        )}
      </div>
    </form>
  );
}
