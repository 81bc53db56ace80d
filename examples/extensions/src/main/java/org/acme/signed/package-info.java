/** Bundle policy by the certificates that signed a jar. */
package org.acme.signed;
