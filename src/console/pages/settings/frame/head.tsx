import type { ReactNode } from "react";
import { TopBar } from "../../../shell/top-bar.tsx";
import { PageHeader } from "../../../ui/panel.tsx";

const ABOVE = [{ label: "Settings", path: "/settings/general" }];

type Props = { title: string; sub: ReactNode; actions?: ReactNode; live?: ReactNode };

/** The heading of a section of the settings. */
export function SectionHead({ title, sub, actions, live }: Props) {
  return (
    <>
      <TopBar above={ABOVE} title={title}>
        {live}
      </TopBar>
      <PageHeader title={title} sub={sub} actions={actions} />
    </>
  );
}
