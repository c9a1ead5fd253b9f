import { type FormEvent, useState } from "react";
import type { TtlSettings } from "../../../../traces/projects/ttl-settings-schema.ts";
import { useApiChange, useApiQuery } from "../../../api/hooks.ts";
import { useMay } from "../../../api/session.ts";
import { Panel } from "../../../ui/panel.tsx";
import { ErrorState, QueryState } from "../../../ui/states.tsx";
import { useToast } from "../../../ui/toasts.tsx";
import { Time } from "../../../ui/values.tsx";
import { SectionHead } from "../frame/head.tsx";
import { DeleteTraces } from "./delete-traces.tsx";
import { ProjectTiers } from "./project-tiers.tsx";
import { lifetimeOf, TIER_LABELS, TIERS, type Tier, TTL_SETTINGS } from "./tiers.ts";

/** The retention of traces: by default, and of each project. */
export function Retention() {
  const isAdmin = useMay("admin");
  const query = useApiQuery<TtlSettings[]>(TTL_SETTINGS);
  return (
    <>
      <SectionHead
        title="Trace retention"
        sub="How long traces are kept before they are deleted with their payloads, attachments and feedback."
      />
      <QueryState query={query} what="The retention could not be read">
        {([settings]) =>
          settings && (
            <div className="stack">
              <Panel title="Default of the workspace" footer={<ChangedBy settings={settings} />}>
                {isAdmin ? (
                  <DefaultForm key={settings.updated_at} settings={settings} />
                ) : (
                  <div className="in-p grid gap-2">
                    <p>
                      <b className="m">{TIER_LABELS[settings.default_trace_tier]}</b>, kept{" "}
                      {lifetimeOf(settings, settings.default_trace_tier)}
                    </p>
                    <Effect />
                  </div>
                )}
              </Panel>
              <ProjectTiers settings={settings} />
              <DeleteTraces />
            </div>
          )
        }
      </QueryState>
    </>
  );
}

function ChangedBy({ settings: { configured_by, updated_at } }: { settings: TtlSettings }) {
  if (configured_by === "system") return "The default of the installation: no admin has set one.";
  return (
    <span>
      Set <Time at={updated_at} /> by an admin of the workspace.
    </span>
  );
}

function Effect() {
  return (
    <ul className="hint grid gap-1">
      <li>New traces of projects without a tier have this one within five seconds.</li>
      <li>Existing traces keep the tier that they arrived with.</li>
      <li>
        A trace with feedback, or with one long-lived run, is long-lived. Days count from the end of
        the UTC day on which a trace started.
      </li>
    </ul>
  );
}

type Choice = { default_trace_tier: Tier; apply_to_all_projects: boolean };

function DefaultForm({ settings }: { settings: TtlSettings }) {
  const toast = useToast();
  const [tier, setTier] = useState<Tier>(settings.default_trace_tier);
  const [forAll, setForAll] = useState(false);
  const save = useApiChange<Choice, TtlSettings>({
    method: "PUT",
    path: TTL_SETTINGS,
    body: (choice) => choice,
    invalidates: [TTL_SETTINGS, "/api/v1/sessions"],
  });
  const isChanged = tier !== settings.default_trace_tier || forAll;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(
      { default_trace_tier: tier, apply_to_all_projects: forAll },
      { onSuccess: () => toast(`New traces are ${TIER_LABELS[tier].toLowerCase()}`) },
    );
  };
  return (
    <form className="in-p grid gap-3" onSubmit={submit}>
      <fieldset className="border-0 p-0 m-0 grid gap-3 md:grid-cols-2">
        <legend className="sr">Tier</legend>
        {TIERS.map((each) => (
          <label key={each} className="choice">
            <span className="row">
              <input
                type="radio"
                name="tier"
                checked={each === tier}
                onChange={() => setTier(each)}
              />
              <b className="m">{TIER_LABELS[each]}</b>
            </span>
            <span className="hint">kept {lifetimeOf(settings, each)}</span>
          </label>
        ))}
      </fieldset>
      <label className="check">
        <input
          type="checkbox"
          checked={forAll}
          onChange={(event) => setForAll(event.target.checked)}
        />
        <span>
          Also set it for all projects
          <span className="hint block">Replaces the tier that projects have of their own.</span>
        </span>
      </label>
      <Effect />
      {save.error && <ErrorState what="The retention was not changed" error={save.error} />}
      <div>
        <button type="submit" className="btn pri" disabled={!isChanged || save.isPending}>
          {save.isPending ? "Saving" : "Save retention"}
        </button>
      </div>
    </form>
  );
}
