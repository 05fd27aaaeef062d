import { Component, type ReactNode } from "react";

interface PaneBoundaryProps {
  children: ReactNode;
  fallback: ReactNode;
  onError: (error: unknown) => void;
}

/** Shows the table if the highlighting view cannot be loaded or breaks. */
export class PaneBoundary extends Component<PaneBoundaryProps, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override componentDidCatch(error: unknown) {
    this.props.onError(error);
  }

  override render() {
    return this.state.hasFailed ? this.props.fallback : this.props.children;
  }
}
