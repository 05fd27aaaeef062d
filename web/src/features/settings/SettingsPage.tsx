import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { cliLines } from "../../cliLines";
import { useMe } from "../../me";
import { Failure } from "../../ui/Failure";
import { Page } from "../../ui/Page";
import { SkeletonRows } from "../../ui/Skeleton";
import { PanelRules } from "./PanelRules";
import { ProjectList } from "./ProjectList";
import { config } from "./queries";
import { SettingFiles } from "./SettingFiles";
import { SettingList } from "./SettingList";
import { WebhookList } from "./WebhookList";

/** The settings of the broker with where each comes from, and what they set up: panel, webhooks, projects. */
export function SettingsPage() {
  const { whoami } = useMe();
  const { data, isPending, isError, error, refetch } = useQuery({ ...config(), enabled: whoami !== null });
  return (
    <Page title="Settings" cli={cliLines.configRunning()}>
      <p className="text-dim">
        What the broker read when it started. Your name, theme and keys are in{" "}
        <Link to="/preferences">Preferences</Link>, personas and their prompts with the{" "}
        <Link to="/pool">reviewers</Link>.
      </p>
      {isPending ? (
        <SkeletonRows count={12} label="the settings" />
      ) : isError && data === undefined ? (
        <Failure error={error} what="The settings" retry={() => void refetch()} />
      ) : (
        <>
          <Part title="Values" text="A broker reads a changed file when it starts again.">
            <SettingList settings={data.settings} />
          </Part>
          <Part title="Files" text="Later ones win, then variables, then options.">
            <SettingFiles files={data.files} />
          </Part>
          <Part title="Panel" text="Who reviews a proposal that names no reviewer.">
            <PanelRules settings={data.settings} />
          </Part>
        </>
      )}
      <Part title="Webhooks" text="Receivers of events, and events that they did not accept.">
        <WebhookList />
      </Part>
      <Part title="Projects" text="Repositories that changes can be proposed in.">
        <ProjectList />
      </Part>
    </Page>
  );
}

function Part({ title, text, children }: { title: string; text: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="flex flex-col gap-3 border-t border-line pt-4">
      <div className="flex flex-wrap items-baseline gap-x-3">
        <h2 className="text-base font-semibold">{title}</h2>
        <p className="text-xs text-dim">{text}</p>
      </div>
      {children}
    </section>
  );
}
