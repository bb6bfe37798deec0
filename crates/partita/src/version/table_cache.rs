#[derive(Debug, Default)]
pub(super) struct ReaderSlot;
impl ReaderSlot {
    pub(super) fn close(&self) {}
}
