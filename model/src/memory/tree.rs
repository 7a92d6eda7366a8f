//! The tree over the memories: a binary trie over the bits of their digests, without nodes that have one child only (Morrison 1968, "PATRICIA"), hashed from
//! the leaves up (Merkle 1987). Where its nodes are kept is the caller's business.
//!
//! A set of digests has exactly one such trie: a node stands where two of them part, and nowhere else. So the root depends on what was sealed, and not on the
//! order in which it was. Digests are spread evenly, so a path is about log₂ n nodes long, and making it longer costs an attacker twice the work for
//! each further node. One memory more changes the nodes on its own path, and adds one.
//!
//! Leaves, nodes and the empty tree are hashed behind different first bytes, as in RFC 6962, section 2.1: a leaf can't be passed off as a node.

use super::Digest;
use crate::mutant::{Mutant, is};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use std::fmt;

const LEAF: u8 = 0;
const NODE: u8 = 1;
const EMPTY: u8 = 2;

/// How many bits a digest has.
const BITS: u16 = 256;

/// Where something stands in the trie: the bits that all digests below it begin with. All 256 are a leaf.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// The first bits; the others are zero.
    path: [u8; 32],
    bits: u16,
}

impl Place {
    /// Where a memory stands.
    pub(super) fn leaf(digest: Digest) -> Place {
        Place { path: digest.0, bits: BITS }
    }

    /// The first so many bits of a digest.
    fn front(digest: Digest, bits: u16) -> Place {
        let mut path = digest.0;
        let (whole, rest) = (usize::from(bits / 8), bits % 8);
        if whole < path.len() {
            path[whole] &= !(0xFF >> rest);
            path[whole + 1..].fill(0);
        }
        Place { path, bits }
    }

    /// How many of a digest's first bits are these, at most all of them.
    fn shared_with(&self, digest: Digest) -> u16 {
        let mut shared = 0;
        for (ours, others) in self.path.iter().zip(digest.0) {
            let same = (ours ^ others).leading_zeros() as u16;
            shared += same;
            if same < 8 {
                break;
            }
        }
        shared.min(self.bits)
    }

    /// The memory, if it is a leaf.
    pub(super) fn as_leaf(&self) -> Option<Digest> {
        (self.bits == BITS).then_some(Digest(self.path))
    }

    /// How it stands in a row: two bytes for the number of bits, and as many bytes as hold them.
    fn encode(&self) -> Vec<u8> {
        let mut encoded = Vec::with_capacity(34);
        encoded.extend(self.bits.to_be_bytes());
        encoded.extend(&self.path[..usize::from(self.bits.div_ceil(8))]);
        encoded
    }

    /// Reads a row. Each place has one form: what is not in it is no place.
    fn decode(encoded: &[u8]) -> Option<Place> {
        let (bits, front) = encoded.split_first_chunk::<2>()?;
        let bits = u16::from_be_bytes(*bits);
        if bits > BITS || front.len() != usize::from(bits.div_ceil(8)) {
            return None;
        }
        let mut path = [0; 32];
        path[..front.len()].copy_from_slice(front);
        let place = Place::front(Digest(path), bits);
        (place.path == path).then_some(place)
    }
}

/// The bits that it stands for, in hexadecimal, and how many they are.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in &self.path[..usize::from(self.bits.div_ceil(8))] {
            write!(f, "{byte:02x}")?;
        }
        write!(f, "/{}", self.bits)
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl ToSql for Place {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.encode()))
    }
}

impl FromSql for Place {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Place> {
        Place::decode(value.as_blob()?).ok_or_else(|| FromSqlError::Other("no place in a tree".into()))
    }
}

/// Something below a node, or the top of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Child {
    pub(super) place: Place,
    pub(super) hash: Digest,
}

impl Child {
    fn leaf(digest: Digest) -> Child {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&[LEAF]).update(&digest.0);
        Child { place: Place::leaf(digest), hash: Digest(hasher.finalize().into()) }
    }
}

/// A node: where digests part, below it those that go on with a 0 and those that go on with a 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) children: [Child; 2],
}

impl Node {
    /// What stands above it knows it by this.
    fn as_child(&self) -> Child {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&[NODE]).update(&self.place.bits.to_be_bytes());
        for child in &self.children {
            hasher.update(&child.hash.0);
        }
        Child { place: self.place, hash: Digest(hasher.finalize().into()) }
    }
}

/// Where nodes are kept.
pub(super) trait Nodes {
    type Error;

    /// The node at a place where there is one.
    fn get(&mut self, place: &Place) -> Result<Node, Self::Error>;

    /// Keeps a node, instead of the one at its place if there is one. Its hash is computed once for each call.
    fn put(&mut self, node: &Node) -> Result<(), Self::Error>;
}

/// The root of the tree with that top.
pub(super) fn root(top: Option<Child>) -> Digest {
    top.map_or_else(|| Digest(blake3::hash(&[EMPTY]).into()), |top| top.hash)
}

/// Adds a memory that isn't there yet. Gives the new top.
pub(super) fn insert<N: Nodes>(
    nodes: &mut N,
    top: Option<Child>,
    digest: Digest,
    mutant: Option<Mutant>,
) -> Result<Child, N::Error> {
    let leaf = Child::leaf(digest);
    let Some(mut at) = top else { return Ok(leaf) };
    let bit = |index: u16| usize::from(digest.0[usize::from(index / 8)] >> (7 - index % 8) & 1);
    let mut above = Vec::new();
    let parting = loop {
        let shared = at.place.shared_with(digest);
        if shared < at.place.bits {
            break shared;
        }
        if at.place.bits == BITS {
            // It is there after all: the tree stays as it is.
            return Ok(top.unwrap_or(at));
        }
        let node = nodes.get(&at.place)?;
        let side = bit(node.place.bits);
        at = node.children[side];
        above.push((node, side));
    };
    let as_they_came = [at, leaf];
    let children = if bit(parting) == 0 { [leaf, at] } else { as_they_came };
    let node = Node { place: Place::front(digest, parting), children };
    nodes.put(&node)?;
    let mut child = if is(mutant, Mutant::RootOverUnsortedLeaves) {
        Node { children: as_they_came, ..node }.as_child()
    } else {
        node.as_child()
    };
    while let Some((mut node, side)) = above.pop() {
        node.children[side] = child;
        nodes.put(&node)?;
        child = node.as_child();
    }
    Ok(child)
}

#[cfg(test)]
mod tests {
    use super::*;
    use seedstorm_sim::{Draw, Seed};
    use std::collections::{BTreeMap, BTreeSet};
    use std::convert::Infallible;

    /// A tree in memory, which counts the hashes of its nodes.
    #[derive(Default)]
    struct Kept {
        nodes: BTreeMap<Place, Node>,
        top: Option<Child>,
        hashes: usize,
    }

    impl Nodes for Kept {
        type Error = Infallible;

        fn get(&mut self, place: &Place) -> Result<Node, Infallible> {
            Ok(self.nodes[place])
        }

        fn put(&mut self, node: &Node) -> Result<(), Infallible> {
            self.hashes += 1;
            self.nodes.insert(node.place, *node);
            Ok(())
        }
    }

    impl Kept {
        fn of(digests: impl IntoIterator<Item = Digest>) -> Kept {
            let mut kept = Kept::default();
            digests.into_iter().for_each(|digest| kept.add(digest, None));
            kept
        }

        fn add(&mut self, digest: Digest, mutant: Option<Mutant>) {
            let top = self.top;
            let Ok(top) = insert(self, top, digest, mutant);
            self.top = Some(top);
        }

        fn root(&self) -> Digest {
            root(self.top)
        }
    }

    fn digests(count: u64) -> Vec<Digest> {
        (0..count).map(|number| Digest::of(&number.to_le_bytes())).collect()
    }

    fn shuffled(mut digests: Vec<Digest>, seed: u64) -> Vec<Digest> {
        let mut stream = Seed(seed).stream("memory-tree-test");
        for end in (1..digests.len()).rev() {
            digests.swap(end, stream.below(end as u64 + 1) as usize);
        }
        digests
    }

    #[test]
    fn the_tree_depends_on_the_set_only() {
        for count in [0, 1, 2, 3, 10, 100] {
            let expected = Kept::of(digests(count));
            for seed in 0..20 {
                let found = Kept::of(shuffled(digests(count), seed));
                assert_eq!((found.root(), found.nodes), (expected.root(), expected.nodes.clone()), "{count}, {seed}");
            }
        }
    }

    #[test]
    fn each_set_has_a_root_of_its_own() {
        let sets = (0u64..256).map(|set| {
            let chosen = digests(8).into_iter().enumerate().filter(move |(index, _)| set >> index & 1 == 1);
            Kept::of(chosen.map(|(_, digest)| digest)).root()
        });
        assert_eq!(sets.collect::<BTreeSet<Digest>>().len(), 256);
    }

    #[test]
    fn what_is_there_is_not_added_again() {
        let mut kept = Kept::of(digests(9));
        let (root, hashes) = (kept.root(), kept.hashes);
        kept.add(digests(9)[4], None);
        assert_eq!((kept.root(), kept.hashes), (root, hashes));
    }

    #[test]
    fn one_memory_more_changes_the_nodes_of_its_path() {
        let mut kept = Kept::of(digests(10_000));
        kept.hashes = 0;
        let more: Vec<Digest> = digests(10_100).split_off(10_000);
        let longest = more.into_iter().map(|digest| {
            let before = kept.hashes;
            kept.add(digest, None);
            kept.hashes - before
        });
        // 13.3 is log₂ of 10,000: paths of a random trie are hardly longer.
        let (longest, sum) = longest.fold((0, 0), |(longest, sum), hashes| (longest.max(hashes), sum + hashes));
        assert!(longest <= 30 && sum <= 100 * 17, "at most {longest} hashes, {sum} for 100 memories");
        assert_eq!(kept.nodes.len(), 10_099, "a node for each memory but one");
    }

    #[test]
    fn digests_that_part_at_the_last_bit_or_at_the_first() {
        let base = Digest([0; 32]);
        let alike = (0..256u16).map(|bit| {
            let mut other = base;
            other.0[usize::from(bit / 8)] ^= 0x80 >> (bit % 8);
            other
        });
        let all: Vec<Digest> = alike.chain([base]).collect();
        let expected = Kept::of(all.clone());
        assert_eq!(expected.nodes.len(), 256);
        for seed in 0..5 {
            assert_eq!(Kept::of(shuffled(all.clone(), seed)).root(), expected.root());
        }
    }

    #[test]
    fn a_leaf_is_no_node_and_no_memory() {
        let [one, other] = [Digest::of(b"1"), Digest::of(b"2")];
        let pair = Kept::of([one, other]);
        let node = pair.nodes.values().next().expect("one node");
        // Whoever remembers the very bytes that a node is hashed from gets another hash.
        let [zero, far] = node.children.map(|child| child.hash.0);
        let bytes = [&[NODE][..], &node.place.bits.to_be_bytes(), &zero, &far].concat();
        assert_eq!(Digest::of(&bytes), pair.root());
        assert_ne!(Kept::of([Digest::of(&bytes)]).root(), pair.root());
        assert_ne!(Kept::of([one]).root(), one);
        assert_ne!(Kept::of([]).root(), Kept::of([Digest::of(&[])]).root());
    }

    #[test]
    fn places_have_one_form_each() {
        let digest = Digest::of(b"a place");
        for bits in 0..=BITS {
            let place = Place::front(digest, bits);
            assert_eq!(Place::decode(&place.encode()), Some(place));
            assert_eq!(place.shared_with(digest), bits);
            let mut longer = place.encode();
            longer.push(0);
            assert_eq!(Place::decode(&longer), None, "{place}");
        }
        assert_eq!(Place::decode(&[0, 1, 0xC0]), None, "a bit behind the end");
        assert_eq!(Place::decode(&[0, 1, 0x80]).map(|place| place.to_string()), Some("80/1".into()));
        assert_eq!([Place::decode(&[]), Place::decode(&[1]), Place::decode(&[1, 1])], [None; 3]);
    }

    #[test]
    fn leaves_that_are_hashed_as_they_come_have_a_root_for_each_order() {
        let mutant = Some(Mutant::RootOverUnsortedLeaves);
        let roots = (0..20).map(|seed| {
            let mut kept = Kept::default();
            shuffled(digests(6), seed).into_iter().for_each(|digest| kept.add(digest, mutant));
            kept.root()
        });
        assert!(roots.collect::<BTreeSet<Digest>>().len() > 1);
    }
}
