import { Component, type ReactNode } from "react";
import { Failure } from "../../ui/Failure";

/** Keeps a fault of one panel to itself. */
export class PanelBoundary extends Component<{ what: string; children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return (
      <div className="p-4">
        <Failure error={this.state.error} what={this.props.what} retry={() => this.setState({ error: null })} />
      </div>
    );
  }
}
