import { useState } from "react";
import { REASONS, type Support, support, useNotificationsPreference } from "../../notifications";
import { Switch } from "../../ui/Switch";

/** Asks the browser for permission when it is switched on, never before. */
export function NotificationsSwitch() {
  const [isWanted, setWanted] = useNotificationsPreference();
  const [state, setState] = useState<Support>(support);
  const reason = REASONS[state];
  const change = async (isOn: boolean) => {
    if (isOn && state === "not_asked") await Notification.requestPermission();
    setState(support());
    setWanted(isOn && support() === "granted");
  };
  return (
    <>
      <Switch
        isSelected={isWanted && state === "granted"}
        isDisabled={reason !== null}
        onChange={(isOn) => void change(isOn)}
      >
        Your turn
      </Switch>
      {reason !== null && <p className="mt-1 text-xs text-dim">{reason}</p>}
    </>
  );
}
