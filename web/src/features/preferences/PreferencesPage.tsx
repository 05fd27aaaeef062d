import type { ReactNode } from "react";
import { useKeysPreference } from "../../keys/preference";
import { useMe } from "../../me";
import { NameForm } from "../../NameForm";
import { THEMES, type Theme, useTheme } from "../../theme";
import { Options } from "../../ui/Options";
import { Page } from "../../ui/Page";
import { Switch } from "../../ui/Switch";
import { AboutBroker } from "./AboutBroker";
import { NotificationsSwitch } from "./NotificationsSwitch";
import { SignOut } from "./SignOut";

/** What this browser remembers, and which broker answers. */
export function PreferencesPage() {
  const { whoami } = useMe();
  const [areKeysOn, setKeys] = useKeysPreference();
  return (
    <Page title="Preferences">
      <div className="flex max-w-2xl flex-col divide-y divide-line">
        <Setting title="Name" text="Votes and messages that you write on this page carry it.">
          <NameForm />
        </Setting>
        <Setting title="Theme">
          <ThemeChoice />
        </Setting>
        <Setting title="Keys" text="Single keys such as j and k. Switch them off if they disturb speech input.">
          <Switch isSelected={areKeysOn} onChange={setKeys}>
            Single keys
          </Switch>
        </Setting>
        <Setting title="Notifications" text="A notification of the system when it becomes your turn.">
          <NotificationsSwitch />
        </Setting>
        {whoami !== null && (
          <Setting title="Broker">
            <AboutBroker whoami={whoami} />
          </Setting>
        )}
        {whoami?.signed_in === true && (
          <Setting title="Session" text="This browser is signed in by a cookie.">
            <SignOut />
          </Setting>
        )}
      </div>
    </Page>
  );
}

function Setting({ title, text, children }: { title: string; text?: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="grid gap-x-6 gap-y-2 py-5 first:pt-0 sm:grid-cols-3">
      <div>
        <h2 className="font-semibold">{title}</h2>
        {text !== undefined && <p className="mt-1 text-xs text-dim">{text}</p>}
      </div>
      <div className="min-w-0 sm:col-span-2">{children}</div>
    </section>
  );
}

const THEME_WORDS: Record<Theme, string> = { system: "as the system", light: "light", dark: "dark" };

function ThemeChoice() {
  const { theme, setTheme } = useTheme();
  return (
    <Options
      label="Theme"
      isLabelHidden
      value={theme}
      options={THEMES.map((key) => ({ key, label: THEME_WORDS[key] }))}
      onChange={setTheme}
    />
  );
}
