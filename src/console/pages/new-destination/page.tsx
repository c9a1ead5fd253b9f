import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import type { Destination } from "../../../exports/destination-schema.ts";
import { useApiChange, useWorkspaceId } from "../../api/hooks.ts";
import { BucketFields } from "../../exports/bucket-fields.tsx";
import { EMPTY_BUCKET, toDestination } from "../../exports/draft.ts";
import { DESTINATIONS, useWhyNotExport } from "../../exports/names.ts";
import { DraftProbe } from "../../exports/probe-panel.tsx";
import { FormSection } from "../../exports/section.tsx";
import { TopBar } from "../../shell/top-bar.tsx";
import { pathTo } from "../../state/path.ts";
import { Icon } from "../../ui/icon.tsx";
import { Empty, PageHeader } from "../../ui/panel.tsx";
import { ErrorState } from "../../ui/states.tsx";
import { useToast } from "../../ui/toasts.tsx";

const ABOVE = [{ label: "Exports", path: "/exports" }];

export function NewDestinationPage() {
  const why = useWhyNotExport();
  return (
    <>
      <TopBar above={ABOVE} title="New destination" />
      <PageHeader
        title="New destination"
        sub="A bucket of yours, and credentials to write to it."
      />
      {why === null ? (
        <DestinationForm />
      ) : (
        <Empty title="No destination can be created here">{why}</Empty>
      )}
    </>
  );
}

function DestinationForm() {
  const [bucket, setBucket] = useState(EMPTY_BUCKET);
  const navigate = useNavigate();
  const workspace = useWorkspaceId();
  const toast = useToast();
  const save = useApiChange<object, Destination>({
    path: DESTINATIONS,
    body: (request) => request,
    invalidates: [DESTINATIONS],
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(toDestination(bucket), {
      onSuccess: ({ display_name }) => {
        toast(`Saved ${display_name}`);
        void navigate({ to: pathTo(workspace, "/exports") });
      },
    });
  };
  return (
    <div className="form-grid">
      <form className="stack" onSubmit={submit} aria-label="New destination">
        <FormSection number={1} title="Bucket">
          <BucketFields
            draft={bucket}
            onChange={(part) => setBucket((former) => ({ ...former, ...part }))}
          />
        </FormSection>
        {save.error && (
          <ErrorState
            what="The destination was not saved"
            error={save.error}
            intact="What you typed is still here."
          />
        )}
        <div className="row">
          <button type="submit" className="btn pri" disabled={save.isPending}>
            <Icon name="plus" /> {save.isPending ? "Saving" : "Save destination"}
          </button>
        </div>
      </form>
      <aside className="stack">
        <DraftProbe draft={bucket} />
      </aside>
    </div>
  );
}
