import type { ReactNode } from "react";
import { Dialog as AriaDialog, Button, Heading, Modal, ModalOverlay } from "react-aria-components";

interface DialogProps {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  children: ReactNode;
  isWide?: boolean;
}

/** A modal dialog. Focus returns to where it was when it closes. */
export function Dialog({ title, isOpen, onClose, children, isWide = false }: DialogProps) {
  return (
    <ModalOverlay
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      isDismissable
      className="fixed inset-0 z-40 flex items-start justify-center overflow-y-auto bg-scrim p-2 pt-16"
    >
      <Modal className={`w-full ${isWide ? "max-w-3xl" : "max-w-lg"} rounded border border-line bg-bg shadow-dialog`}>
        <AriaDialog className="max-h-[84vh] overflow-y-auto rounded outline-none">
          <div className="sticky top-0 z-10 flex items-center justify-between gap-4 border-b border-line bg-bg py-2 pr-2 pl-4">
            <Heading slot="title" className="text-base font-semibold">
              {title}
            </Heading>
            <Button
              slot="close"
              aria-label="Close"
              className="flex size-8 shrink-0 items-center justify-center rounded text-dim hover:bg-hover hover:text-text"
            >
              <span aria-hidden="true">✕</span>
            </Button>
          </div>
          <div className="p-4">{children}</div>
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}
