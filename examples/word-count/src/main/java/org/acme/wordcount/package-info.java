/** A bundle with one handler, to start from. */
package org.acme.wordcount;
