use crate::codec::{CodecError, ValueCodec};

/// The key of the one row of the table of transactions.
pub(super) const TRANSACTION_INFO_KEY: &str = "#TRANSACTIONINFO";

/// A transaction: how often the store was opened before it, and its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TransactionInfo {
    /// Counts openings.
    pub term: u64,
    /// Counts transactions, over all terms.
    pub index: u64,
}

/// As Ozone writes it: `term#index`, decimal.
pub enum TransactionRow {}

impl ValueCodec for TransactionRow {
    type Borrowed = TransactionInfo;
    type Value = TransactionInfo;

    fn encode(value: &TransactionInfo, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        bytes.extend(format!("{}#{}", value.term, value.index).as_bytes());
        Ok(())
    }

    fn decode(bytes: &[u8]) -> Result<TransactionInfo, CodecError> {
        let parts = std::str::from_utf8(bytes).map_err(CodecError::of)?.split_once('#');
        let parsed = parts.and_then(|(term, index)| {
            Some(TransactionInfo { term: term.parse().ok()?, index: index.parse().ok()? })
        });
        parsed.ok_or_else(|| CodecError::new("expected term#index"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_two_numbers() {
        let info = TransactionInfo { term: 3, index: 1200 };
        let mut bytes = Vec::new();
        TransactionRow::encode(&info, &mut bytes).unwrap();
        assert_eq!(bytes, b"3#1200");
        assert_eq!(TransactionRow::decode(&bytes).unwrap(), info);
        for wrong in ["", "3", "3#", "#3", "3#x", "3#4#5", "-1#2"] {
            assert!(TransactionRow::decode(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
