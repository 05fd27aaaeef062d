import type { ReactNode } from "react";
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from "react-aria-components";

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
      <Modal
        className={`w-full ${isWide ? "max-w-3xl" : "max-w-lg"} rounded border border-line bg-bg shadow-dialog`}
      >
        <AriaDialog className="flex max-h-[84vh] flex-col outline-none">
          <Heading slot="title" className="border-b border-line px-4 py-3 text-base font-semibold">
            {title}
          </Heading>
          <div className="overflow-y-auto p-4">{children}</div>
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}
