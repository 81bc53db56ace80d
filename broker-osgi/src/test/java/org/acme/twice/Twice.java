package org.acme.twice;

/** A type that a bundle contains and the node's class path, too: the bundle has a class of its own by this name. */
public interface Twice {}
