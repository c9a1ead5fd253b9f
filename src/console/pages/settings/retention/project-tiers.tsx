import { getRouteApi, Link } from "@tanstack/react-router";
import type { Project } from "../../../../traces/projects/schema.ts";
import type { TtlSettings } from "../../../../traces/projects/ttl-settings-schema.ts";
import { useApiChange, useApiQuery, useWorkspaceId } from "../../../api/hooks.ts";
import { apiPath, under } from "../../../api/path.ts";
import { useMay } from "../../../api/session.ts";
import { pathTo } from "../../../state/path.ts";
import { InlineError } from "../../../ui/blocks/inline-error.tsx";
import { NoRows, Pager } from "../../../ui/blocks/pager.tsx";
import { DataTable, type TableColumn } from "../../../ui/data-table.tsx";
import { AppliedSelect } from "../../../ui/form/applied-select.tsx";
import { Empty, Panel } from "../../../ui/panel.tsx";
import { SearchField } from "../../../ui/search-field.tsx";
import { QueryState } from "../../../ui/states.tsx";
import { useToast } from "../../../ui/toasts.tsx";
import { LegalHold } from "./legal-hold.tsx";
import { ProjectRedactions } from "./redactions.tsx";
import { SamplingRate } from "./sampling-rate.tsx";
import { lifetimeOf, TIER_LABELS, TIERS, type Tier } from "./tiers.ts";

const route = getRouteApi("/w/$workspace/settings/$section");
const PROJECTS = apiPath`/api/v1/sessions`;
const PAGE = 50;

/** Lists the projects with their retention. Editors change tier, sampling and redactions, and admins the legal hold. */
export function ProjectTiers({ settings }: { settings: TtlSettings }) {
  const { q = "", offset = 0 } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useApiQuery<Project[]>(PROJECTS, {
    query: { limit: PAGE, offset, name_contains: q || undefined },
    keepPrevious: true,
  });
  const change = (search: { q?: string | undefined; offset?: number | undefined }) =>
    void navigate({ search, resetScroll: false });
  return (
    <Panel
      title="Projects"
      end={
        <SearchField
          label="Name of a project"
          value={q}
          onChange={(text) => change({ q: text || undefined })}
        />
      }
      footer={
        <Pager
          noun="project"
          offset={offset}
          count={query.data?.length ?? 0}
          size={PAGE}
          onChange={(next) => change({ q: q || undefined, offset: next })}
        />
      }
    >
      <QueryState query={query} what="The projects could not be read">
        {(projects) =>
          projects.length === 0 ? (
            <NoRows noun="project" offset={offset}>
              <Empty title={q === "" ? "No projects yet" : "No project has this name"}>
                A project appears with its first trace. Its new traces can have a tier of their own.
              </Empty>
            </NoRows>
          ) : (
            <ProjectTable projects={projects} settings={settings} />
          )
        }
      </QueryState>
    </Panel>
  );
}

function ProjectTable({ projects, settings }: { projects: Project[]; settings: TtlSettings }) {
  return (
    <DataTable
      label="Retention of projects"
      columns={[NAME_COLUMN, keptColumn(settings), ...EDITABLE_COLUMNS]}
      rows={projects}
      keyOf={({ id }) => id}
    />
  );
}

const NAME_COLUMN: TableColumn<Project> = {
  id: "name",
  header: "Project",
  cell: (project) => <ProjectLink project={project} />,
};

function ProjectLink({ project: { id, name } }: { project: Project }) {
  const workspace = useWorkspaceId();
  return (
    <Link
      to={pathTo(workspace, "/traces")}
      search={{ project: id }}
      className="m text-ink cut block"
      title={name}
    >
      {name}
    </Link>
  );
}

function keptColumn(settings: TtlSettings): TableColumn<Project> {
  const textOf = ({ trace_tier, legal_hold }: Project) =>
    legal_hold
      ? "until the hold ends"
      : lifetimeOf(settings, trace_tier ?? settings.default_trace_tier);
  return {
    id: "kept",
    header: "New traces are kept",
    cell: (project) => (
      <span className="nw">
        <span className="only-m dim">New traces kept </span>
        {textOf(project)}
      </span>
    ),
    card: "full",
    width: "160px",
  };
}

const EDITABLE_COLUMNS: TableColumn<Project>[] = [
  {
    id: "tier",
    header: "Tier",
    cell: (project) => <ProjectTier key={project.trace_tier} project={project} />,
    card: "end",
    width: "220px",
  },
  {
    id: "stored",
    header: "Stored",
    // The key resets the editor when the rate is changed elsewhere.
    cell: (project) => <SamplingRate key={project.sampling_rate} project={project} />,
    card: "full",
    width: "150px",
  },
  {
    id: "redactions",
    header: "Redactions",
    cell: (project) => <ProjectRedactions project={project} />,
    card: "full",
    width: "150px",
  },
  {
    id: "hold",
    header: "Legal hold",
    cell: (project) => <LegalHold project={project} />,
    card: "full",
    width: "120px",
  },
];

function ProjectTier({ project: { id, name, trace_tier } }: { project: Project }) {
  const mayWrite = useMay("write");
  const toast = useToast();
  const change = useApiChange<Tier | null, Project>({
    method: "PATCH",
    path: under(PROJECTS)`/${id}`,
    body: (tier) => ({ trace_tier: tier }),
    invalidates: [PROJECTS],
  });
  if (!mayWrite) return trace_tier === null ? "as the workspace" : TIER_LABELS[trace_tier];
  const set = (tier: Tier | null) => {
    const text =
      tier === null ? "have the tier of the workspace" : `are ${TIER_LABELS[tier].toLowerCase()}`;
    change.mutate(tier, { onSuccess: () => toast(`New traces of the project ${text}`) });
  };
  return (
    <span className="row wrap">
      <AppliedSelect
        label={`Tier of ${name.slice(0, 100)}`}
        value={trace_tier ?? ""}
        isPending={change.isPending}
        onApply={(tier) => set((tier || null) as Tier | null)}
      >
        <option value="">As the workspace</option>
        {TIERS.map((tier) => (
          <option key={tier} value={tier}>
            {TIER_LABELS[tier]}
          </option>
        ))}
      </AppliedSelect>
      <InlineError error={change.error} />
    </span>
  );
}
